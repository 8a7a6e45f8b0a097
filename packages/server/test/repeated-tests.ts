import type { Reporter, TestModule } from 'vitest/node'

/** Reporter that prints the tests that passed only when they were repeated. Each of them has a defect. */
export class RepeatedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.diagnostic()?.flaky === true)
        .map((test) => {
          const [error] = test.result().errors ?? []
          return `   ${module.relativeModuleId} > ${test.fullName}\n     ${error?.message ?? ''}\n`
        }),
    )
    if (lines.length > 0) process.stdout.write(`\n Passed only when repeated\n${lines.join('')}`)
  }
}
