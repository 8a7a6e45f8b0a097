import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** Reporter that writes the paths of failed files, one per line, into the file of `BASALT_TEST_FAILED_FILES`. */
export class FailedFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const { BASALT_TEST_FAILED_FILES: list } = process.env
    if (list === undefined) return
    const failed = new Set(modules.filter((module) => !module.ok()).map((module) => module.relativeModuleId))
    writeFileSync(list, [...failed].map((file) => `${file}\n`).join(''))
  }
}
