import type { Timer } from '../src/lib/timer.ts'
import { waitFor } from './wait-for.ts'

/** Timer whose delays pass when the test says so. */
export interface ManualTimer extends Timer {
  /**
   * Waits until an action is due within the time given, passes its delay and runs it. @returns true if it was due in
   * time
   */
  runNext(until: number, withinMs?: number): Promise<boolean>
}

export function createManualTimer(): ManualTimer {
  let now = 0
  const tasks = new Set<{ readonly dueAt: number; readonly work: () => void }>()
  const earliest = () => [...tasks].sort((a, b) => a.dueAt - b.dueAt)[0]
  return {
    now: () => now,
    after(delayMs, work) {
      const task = { dueAt: now + delayMs, work }
      tasks.add(task)
      return () => tasks.delete(task)
    },
    async runNext(until, withinMs = 1500) {
      const task = await waitFor('a task that is due soon', () => {
        const next = earliest()
        return next !== undefined && next.dueAt - now <= withinMs && next
      })
      if (task.dueAt > until) return false
      now = Math.max(now, task.dueAt)
      tasks.delete(task)
      task.work()
      return true
    },
  }
}
