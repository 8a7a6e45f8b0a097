import process from 'node:process'
import type { SocketName } from '../http/listen.ts'
import type { Handle, WorkerProcess } from './worker-process.ts'

/** Systems that spread connections over the sockets of one port (Node, `server.listen`, reusePort). */
export const canReusePort = ['linux', 'freebsd', 'dragonfly', 'sunos', 'aix'].includes(process.platform)

/** Sockets on which workers listen. They outlive their workers, so that the port is never refused. */
export class Sockets {
  /** Ports that workers have opened. */
  readonly ports = new Map<SocketName, number>()
  /** Sockets by worker. */
  readonly #sockets = new Map<number, Map<SocketName, Handle>>()
  /** Workers that accept the connections of another one, by the other one's number. */
  readonly #covers = new Map<number, WorkerProcess>()
  #isClosed = false

  /** Keeps a socket that a worker has opened. */
  keep(number: number, { name, port }: { name: SocketName; port: number }, handle: Handle): void {
    if (this.#isClosed) {
      handle.close()
      return
    }
    this.ports.set(name, port)
    const sockets = this.#sockets.get(number) ?? new Map<SocketName, Handle>()
    this.#sockets.set(number, sockets.set(name, handle))
  }

  /** Passes the sockets of its predecessor to a worker. */
  pass(worker: WorkerProcess): void {
    const own = this.#sockets.get(worker.number) ?? (canReusePort ? undefined : this.#sockets.get(1))
    for (const [name, handle] of own ?? []) worker.tell({ kind: 'socket', name }, handle)
  }

  /** Passes the sockets of silent and missing workers to serving ones. */
  cover(serving: readonly WorkerProcess[]): void {
    if (!canReusePort) return
    for (const [number, sockets] of this.#sockets) {
      const current = this.#covers.get(number)
      const isServed = serving.some((worker) => worker.number === number)
      if (isServed ? current === undefined : current !== undefined && serving.includes(current)) continue
      const cover = isServed ? undefined : serving[0]
      current?.tell({ kind: 'uncover', worker: number })
      this.#covers.delete(number)
      if (cover === undefined) continue
      this.#covers.set(number, cover)
      for (const [name, handle] of sockets) cover.tell({ kind: 'cover', worker: number, name }, handle)
    }
  }

  /** Closes the sockets. Connections are then refused when the workers have closed theirs. */
  close(): void {
    this.#isClosed = true
    for (const sockets of this.#sockets.values()) for (const handle of sockets.values()) handle.close()
    this.#sockets.clear()
  }
}
