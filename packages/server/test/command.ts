import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Executable of the checkout, which runs the sources. */
export const sourceCommand = fileURLToPath(new URL('../bin/basalt.js', import.meta.url))

/** Executable of the package that the run has installed, by default that of the checkout. */
export const command = process.env.BASALT_TEST_EXECUTABLE ?? sourceCommand

export interface CommandOptions {
  readonly directory?: string
  readonly env?: Readonly<Record<string, string>>
  /** Content of standard input, empty by default. */
  readonly input?: string
}

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Returns the part of the tests' environment that processes inherit: the search path, and the folder of compiled code.
 */
export function inheritedEnvironment(): { readonly PATH: string; readonly NODE_COMPILE_CACHE: string } {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE }
}

/** Runs `basalt …` as a process without the tests' environment. */
export function basalt(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { directory = tmpdir(), env = {}, input = '' } = options
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, ...args], {
      cwd: directory,
      env: { ...inheritedEnvironment(), ...env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    // The process closes its input if it does not read it.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
