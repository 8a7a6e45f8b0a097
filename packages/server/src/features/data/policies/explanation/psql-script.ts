import { describeContext } from '../../../../database/caller/caller-context.ts'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { quoteLiteral } from '../../../../database/sql.ts'
import type { SentStatement } from '../rehearsal/run-request.ts'

/** A script for psql that does what the data API does, and undoes it. Pure. */
export function reproduce(scope: CallerScope, sent: SentStatement | undefined): string {
  const { role, settings } = describeContext(scope)
  const all = { ...(role === undefined ? {} : { role }), ...settings }
  const calls = Object.entries(all).map(
    ([name, value]) => `set_config(${quoteLiteral(name)}, ${quoteLiteral(value).trim()}, true)`,
  )
  return `begin;
select ${calls.join(',\n  ')};
${sent === undefined ? '' : `${bindConstants(sent)};\n`}rollback;
`
}

/** Quoted texts, which may hold what looks like a parameter, and parameters. */
const lexeme = /"(?:[^"]|"")*"|[eE]?'(?:[^'\\]|''|\\.)*'|\$(\d+)/gs

/** The statement with its values in it. Pure. */
function bindConstants({ text, values }: SentStatement): string {
  const bound = text.replace(lexeme, (found, number: string | undefined) => {
    if (number === undefined) return found
    const value = values[Number(number) - 1]
    return value == null ? 'null' : quoteLiteral(value).trim()
  })
  return bound.replace(/\n\s*\n/g, '\n').trim()
}
