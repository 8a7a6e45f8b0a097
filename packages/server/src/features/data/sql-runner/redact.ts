const literal = String.raw`(?:[eE]|[uU]&)?'(?:[^']|'')*(?:'|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$`
const afterPassword = new RegExp(String.raw`(\bpassword\b\s*(?:=>?|:=)?\s*)(?:${literal})`, 'gi')
const anyLiteral = new RegExp(literal, 'g')
const inConnectionString = /(\bpassword\s*=\s*)(?!'\[redacted\]')(?:\\?'[^']*'|[^\s'"]+)/gi

/** Statements whose strings are options and passwords of other servers. */
const ofConnections =
  /^(?:create|alter)\s+(?:user\s+mapping|server|subscription)\b|\bdblink(?:_connect(?:_u)?|_exec)?\s*\(/i

/** A statement for the history and the audit: what may be a password is `[redacted]`. */
export function redactStatement(text: string): string {
  const withoutPasswords = text
    .replace(afterPassword, (_match, before: string) => `${before}'[redacted]'`)
    .replace(inConnectionString, (_match, before: string) => `${before}[redacted]`)
  return ofConnections.test(text) ? withoutPasswords.replace(anyLiteral, "'[redacted]'") : withoutPasswords
}
