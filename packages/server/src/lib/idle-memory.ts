import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const mebibyte = 1024 * 1024
const checkMs = 10_000
/** Processor time of an idle process at most, as a part of the time that has passed. */
const idlePart = 0.1
/** Growth of the heap since the last collection that is worth another one. */
const worthwhileGrowth = 8 * mebibyte
/** Size of the objects above which a collection delays requests by more than a tenth of a second. */
const longestUsed = 256 * mebibyte

/** Process at the time of a check. */
export interface IdleCheck {
  /** Its processor time since the last check, as a part of the time that has passed. */
  readonly workedPart: number
  /** Bytes of objects in its heap, including garbage. */
  readonly used: number
  /** Bytes of its heap, including free pages. */
  readonly size: number
  /** Bytes of its heap after the last collection. */
  readonly sizeBefore: number
}

/**
 * Returns memory to the system when the process is idle. V8 collects garbage when objects are created, so an idle
 * process keeps what its start or its last load has left: a third of its memory.
 */
export function returnIdleMemory(): void {
  let sizeBefore = 0
  let checkedAt = performance.now()
  let worked = process.cpuUsage()
  setInterval(() => {
    // The utilization of the event loop would count the time in which a loaded machine runs other processes.
    const { user, system } = process.cpuUsage(worked)
    worked = process.cpuUsage()
    const workedPart = (user + system) / 1000 / (performance.now() - checkedAt)
    checkedAt = performance.now()
    const { used_heap_size: used, total_heap_size: size } = getHeapStatistics()
    if (!isWorthCollecting({ workedPart, used, size, sizeBefore })) return
    collectGarbage()
    sizeBefore = getHeapStatistics().total_heap_size
  }, checkMs).unref()
}

/** Returns true if a collection returns memory, and delays no requests. */
export function isWorthCollecting({ workedPart, used, size, sizeBefore }: IdleCheck): boolean {
  return workedPart < idlePart && used < longestUsed && size - sizeBefore > worthwhileGrowth
}

/** Collects all garbage, and reduces the space of new objects, which has grown under load, to its initial size. */
export function collectGarbage(): void {
  // V8 adds the function to contexts that are created while the flag is set.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  collect()
}
