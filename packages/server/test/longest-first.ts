import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of a minute and a half each, in which they wait for the servers that they start. */
const longest = ['guides.process.test.ts', 'backup.process.test.ts']

/** Starts the longest files first: others compute while they wait, and none of them is the last to run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLongest = ({ moduleId }: TestSpecification) =>
      longest.some((name) => moduleId.endsWith(`/${name}`))
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))]
  }
}
