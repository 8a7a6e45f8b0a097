import { createInterface } from 'node:readline/promises'
import { print, type Terminal } from './context.ts'

export interface Choice {
  readonly value: string
  readonly hint: string
}

/** Prompts to the person at a terminal. */
export interface Prompts {
  /** Returns the input; empty at the end of the input. */
  input(text: string): Promise<string>
  /** Returns the value of the chosen number, another value that was typed, or by default the first one. */
  choose(text: string, choices: readonly Choice[]): Promise<string>
  /** Returns true only for yes. */
  confirm(text: string): Promise<boolean>
  close(): void
}

/** Opens prompts on a terminal; undefined where input or output is none. */
export function openPrompts(terminal: Terminal): Prompts | undefined {
  const { stdin, stdout } = terminal
  if (stdin.isTTY !== true || stdout.isTTY !== true) return undefined
  const lines = createInterface({ input: stdin, output: stdout })
  const ended = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''))
  })
  // An interrupted prompt leaves everything unchanged.
  lines.once('SIGINT', () => {
    print(terminal, '\n')
    lines.close()
    terminal.exit(1)
  })
  const input = async (text: string) => (await Promise.race([lines.question(`${text} `), ended])).trim()
  return {
    input,
    async choose(text, choices) {
      const width = Math.max(0, ...choices.map(({ value }) => value.length))
      const list = choices.map(
        ({ value, hint }, index) => `  ${index + 1}  ${value.padEnd(width)}  ${hint}\n`,
      )
      const answer = await input(`${text}\n${list.join('')}${choices.length > 0 ? '[1]' : ''}`)
      return answer === '' ? (choices[0]?.value ?? '') : (choices[Number(answer) - 1]?.value ?? answer)
    },
    confirm: async (text) => /^y(es)?$/i.test(await input(`${text} [y/N]`)),
    close: () => lines.close(),
  }
}
