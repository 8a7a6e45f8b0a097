import { describeContext } from '../../../../database/caller/caller-context.ts'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { quoteLiteral } from '../../../../database/sql.ts'
import type { SentStatement } from '../rehearsal/run-request.ts'

/** Renders a psql script that does the same as the data API, and undoes it. Pure. */
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

/** Pattern of parameters, and of quoted texts, which may contain the text of a parameter. */
const lexeme = /"(?:[^"]|"")*"|[eE]?'(?:[^'\\]|''|\\.)*'|\$(\d+)/gs

/** Replaces the parameters of a statement by its values. Pure. */
function bindConstants({ text, values }: SentStatement): string {
  const bound = text.replace(lexeme, (found, number: string | undefined) => {
    if (number === undefined) return found
    const value = values[Number(number) - 1]
    return value == null ? 'null' : quoteLiteral(value).trim()
  })
  return bound.replace(/\n\s*\n/g, '\n').trim()
}
