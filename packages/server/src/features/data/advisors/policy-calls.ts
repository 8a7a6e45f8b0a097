import { closingOf, maskTexts } from '../../../database/catalog/policy-expressions.ts'

/**
 * Pattern of calls in a policy that PostgreSQL makes for each row, although their result is the same for all rows:
 * session functions and `current_setting`. In a subquery without a `from` they are made once.
 */
const sessionCall =
  /(?<![\w."])(?:basalt|auth)\.(?:user_id|user_email|email_verified|aal|is_anonymous|session_id|claims|uid|jwt|role)\(|(?<![\w."])current_setting\(/gi

/**
 * Returns the expression with each such call in a subquery of its own. Without such calls the text is unchanged.
 * Pure.
 */
export function wrapSessionCalls(expression: string): string {
  const masked = maskTexts(expression)
  let wrapped = ''
  let done = 0
  for (const found of masked.matchAll(sessionCall)) {
    const { index } = found
    if (index < done || isInScalarSubquery(masked, index)) continue
    const end = closingOf(masked, index + found[0].length - 1)
    wrapped += `${expression.slice(done, index)}(select ${expression.slice(index, end + 1)})`
    done = end + 1
  }
  return wrapped + expression.slice(done)
}

/** Returns whether a group around the position is a subquery that reads no relation. */
function isInScalarSubquery(text: string, position: number): boolean {
  let depth = 0
  for (let at = position - 1; at >= 0; at -= 1) {
    if (text[at] === ')') depth += 1
    if (text[at] !== '(') continue
    if (depth > 0) depth -= 1
    else if (isScalarSubquery(text.slice(at + 1, closingOf(text, at)))) return true
  }
  return false
}

function isScalarSubquery(body: string): boolean {
  if (!/^\s*select\b/i.test(body)) return false
  let own = body
  // Nested parentheses are not part of the group itself.
  for (let before = ''; before !== own; ) {
    before = own
    own = own.replace(/\([^()]*\)/g, '')
  }
  return !/\bfrom\b/i.test(own)
}
