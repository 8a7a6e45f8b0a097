import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const mebibyte = 1024 * 1024
const checkMs = 10_000
/** Part of the time between two checks in which an idle process works at most. */
const idlePart = 0.05
/** Growth of the heap since the last collection that is worth another one. */
const worthwhileGrowth = 8 * mebibyte
/** Size of the objects above which a collection delays requests by more than a tenth of a second. */
const longestUsed = 256 * mebibyte

/** Process at the time of a check. */
export interface IdleCheck {
  /** Part of the time since the last check in which it worked. */
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
  let worked = performance.eventLoopUtilization()
  setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(worked)
    worked = performance.eventLoopUtilization()
    const { used_heap_size: used, total_heap_size: size } = getHeapStatistics()
    if (!isWorthCollecting({ workedPart: utilization, used, size, sizeBefore })) return
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
