import type { Reporter, TestModule } from 'vitest/node'

/** Number of files in the list. A run of fewer files shows them all anyway. */
const shown = 10

/** Reporter that prints the slowest files before the runner's own summary. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= shown) return
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, ms: durationOf(module) }))
      .toSorted((one, other) => other.ms - one.ms)
      .slice(0, shown)
    const lines = slowest.map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${name}\n`)
    process.stdout.write(`\n Slowest files\n${lines.join('')}`)
  }
}

function durationOf(module: TestModule): number {
  const { duration, collectDuration } = module.diagnostic()
  return duration + collectDuration
}
