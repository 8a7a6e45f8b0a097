import { beforeEach, type TestContext } from 'vitest'

// Only the tests of several nodes say more on workers than on a single process.
beforeEach(({ task, skip }) => skip(!/\bnodes?\b/.test(fullNameOf(task))))

function fullNameOf({ name, suite }: Pick<TestContext['task'], 'name' | 'suite'>): string {
  return suite === undefined ? name : `${fullNameOf(suite)} › ${name}`
}
