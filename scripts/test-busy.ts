/**
 * Runs the tests beside four processes that spin: `npm run test:busy -- FILES`. A test that judges times instead of waiting
 * for a state fails here. The processes end with this one, even if it is killed: they read a pipe from it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const spinnerCount = 4
/** Program of a spinning process. It reads standard input between rounds of 50 ms. */
const spinner = `
  process.stdin.resume().on('end', () => process.exit())
  const spin = () => {
    for (const since = performance.now(); performance.now() - since < 50; );
    setImmediate(spin)
  }
  spin()`

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

const spinners = Array.from({ length: spinnerCount }, () =>
  spawn(process.execPath, ['--eval', spinner], { stdio: ['pipe', 'ignore', 'inherit'] }),
)
const tests = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], { stdio: 'inherit' })
// Ctrl-C reaches the whole group of the terminal. This process waits for the runner to clean up.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => tests.kill('SIGTERM'))
process.exitCode = await exitCodeOf(tests)
for (const { stdin } of spinners) stdin?.end()

function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
