/**
 * What matters of SQL (PostgreSQL, Lexical Structure), in one pass: what is not closed takes the rest, or a text full of
 * openings would take time by the square of its length.
 */
const tokens =
  /--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|(?:[uU]&)?'(?:[^']|'')*(?:'|$)|(?<opening>\$(?:[A-Za-z_]\w*)?\$)(?<body>[\s\S]*?)(?<closing>\k<opening>|$)|"[^"]*(?:"|$)|[\w$]+|\s+|[\s\S]/g

/** `password 'x'`, `password => 'x'`, `"password" = 'x'`, with blanks and comments between. */
const isPassword = /^"?password"?$/i
const isBetween = /^(?:\s|--|\/\*|[=>:]$)/
const inConnectionString = /(\bpassword\s*=(?!>)\s*)(?!'\[redacted\]')(?:\\?'[^']*'|[^\s'"]+)/gi

/** Statements whose strings are options and passwords of other servers, wherever in a script they are. */
const ofConnections =
  /\b(?:create|alter)\s+(?:user\s+mapping|server|subscription)\b|\bdblink(?:_connect(?:_u)?|_exec)?\s*\(/i

/** Bodies of functions within bodies. */
const mostNested = 4

/** A statement for the history and the audit: what may be a password is `[redacted]`. */
export function redactStatement(text: string): string {
  const withoutLiterals = redactLiterals(text, ofConnections.test(text), mostNested)
  return withoutLiterals.replace(inConnectionString, (_match, before: string) => `${before}[redacted]`)
}

function redactLiterals(text: string, isEach: boolean, nested: number): string {
  let isAfterPassword = false
  let redacted = ''
  for (const { 0: token, groups } of text.matchAll(tokens)) {
    const { opening = '', body, closing = '' } = groups ?? {}
    const isLiteral = body !== undefined || /^(?:e|u&)?'/i.test(token)
    if (isLiteral && (isEach || isAfterPassword)) redacted += "'[redacted]'"
    else if (body !== undefined && nested > 0) {
      redacted += `${opening}${redactLiterals(body, isEach, nested - 1)}${closing}`
    } else redacted += token
    isAfterPassword = isPassword.test(token) || (isAfterPassword && isBetween.test(token))
  }
  return redacted
}
