/** Latencies in milliseconds. */
export interface Latencies {
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export interface OpenLoop {
  /** Requests a second. */
  readonly rate: number
  readonly seconds: number
  /** Functions that send a request, one at a time on each connection. @param index of the request */
  readonly connections: readonly ((index: number, receive: () => void) => void)[]
}

/**
 * Sends requests at a fixed rate, independently of responses. A latency counts from the moment when the request was
 * due: waiting for a connection here is waiting for the server, too (no coordinated omission).
 */
export function runOpenLoop({ rate, seconds, connections }: OpenLoop): Promise<Latencies> {
  const idle = [...connections]
  const total = Math.floor(rate * seconds)
  /** Number of requests that warm the server up. */
  const warmUp = Math.floor(total / 5)
  const latencies: number[] = []
  const intervalMs = 1000 / rate
  const startedAt = performance.now()
  let sent = 0
  let answered = 0

  return new Promise((resolve) => {
    const sendDue = () => {
      const due = Math.min(total, Math.floor((performance.now() - startedAt) / intervalMs))
      while (sent < due) {
        const send = idle.pop()
        if (send === undefined) return
        const index = sent
        sent += 1
        send(index, () => {
          if (index >= warmUp) latencies.push(performance.now() - (startedAt + index * intervalMs))
          idle.push(send)
          answered += 1
          if (answered < total) return sendDue()
          clearInterval(timer)
          resolve(summarize(latencies))
        })
      }
    }
    const timer = setInterval(sendDue, 1)
  })
}

function summarize(latencies: readonly number[]): Latencies {
  const sorted = latencies.toSorted((one, other) => one - other)
  const percentile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { p50: percentile(0.5), p99: percentile(0.99), p999: percentile(0.999), max: sorted.at(-1) ?? 0 }
}
