import { describe, expect, test } from 'vitest'
import { redactStatement } from './redact.ts'

describe('redactStatement', () => {
  test.each([
    ["create role a password 'secret'", "create role a password '[redacted]'"],
    ["create role a password E'x\\'secret'", "create role a password '[redacted]'"],
    [
      "create role a password /* it's */ -- his\n 'secret'",
      "create role a password /* it's */ -- his\n '[redacted]'",
    ],
    ['alter role a password $q$secret$q$', "alter role a password '[redacted]'"],
    [
      `update t set "password" = 'it''s secret' where a = 'b'`,
      `update t set "password" = '[redacted]' where a = 'b'`,
    ],
    ["select f(password => 'secret')", "select f(password => '[redacted]')"],
    [
      "do $$ begin alter role a password 'secret'; end $$",
      "do $$ begin alter role a password '[redacted]'; end $$",
    ],
    ["select 'host=a password=secret'", "select 'host=a password=[redacted]'"],
    [
      "create server a options (b 'secret', c $$secret$$)",
      "create server a options (b '[redacted]', c '[redacted]')",
    ],
    [
      "-- a server\nselect 1;\ncreate server a options (b 'secret')",
      "-- a server\nselect 1;\ncreate server a options (b '[redacted]')",
    ],
    ["select password, 'text', $1 from t", "select password, 'text', $1 from t"],
  ])('makes %j %j', (text, redacted) => expect(redactStatement(text)).toBe(redacted))

  // In quadratic time each would take minutes.
  test.each([
    ['blanks', `password${' '.repeat(900_000)}x`],
    ['open comments', 'password/*'.repeat(90_000)],
    ['open strings', "password '".repeat(90_001)],
    ['open dollar quotes', Array.from({ length: 60_000 }, (_, n) => `password $a${n}$`).join('')],
  ])('scans a megabyte of %s in linear time', (_name, text) => {
    expect(redactStatement(text)).toMatch(/^password/)
  })
})
