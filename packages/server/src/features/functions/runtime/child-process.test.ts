import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeScratchDirectory } from '../../../../test/scratch-directory.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { FunctionChild } from './child-process.ts'

test('is active while it sends a message that is not whole yet', async () => {
  const folder = makeScratchDirectory('basalt-child-')
  const program = join(folder, 'program.mjs')
  // A frame of 16 bytes, of which the last ones are missing.
  writeFileSync(
    program,
    `import { writeSync } from 'node:fs'
     process.stdout.write('started\\n')
     setTimeout(() => writeSync(3, Buffer.from([0, 0, 0, 16, 123])), 50)
     setInterval(() => {}, 1000)`,
  )
  const messages: unknown[] = []
  let startedAt: number | undefined
  const child = new FunctionChild({
    program,
    folder: folder,
    memoryMb: 64,
    onMessage: (message) => messages.push(message),
    onOutput: () => {
      startedAt = performance.now()
    },
    onEnd: () => undefined,
  })
  try {
    await waitFor('the bytes', () => startedAt !== undefined && child.activeAt > startedAt)
    expect(messages).toEqual([])
  } finally {
    child.kill('the test has ended')
    rmSync(folder, { recursive: true })
  }
})
