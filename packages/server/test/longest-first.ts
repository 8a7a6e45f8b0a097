import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of a minute and a half each, mostly of waiting for servers to start. */
const longest = ['guides.process.test.ts', 'backup.process.test.ts', 'workers.process.test.ts']

/**
 * Test sequence that starts the longest files first: others compute while they wait, and none of them is the last to
 * run.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLongest = ({ moduleId }: TestSpecification) =>
      longest.some((name) => moduleId.endsWith(`/${name}`))
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))]
  }
}
