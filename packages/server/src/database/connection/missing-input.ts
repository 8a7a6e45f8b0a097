import type pg from 'pg'

/** Explains a `copy … from stdin` without input. PostgreSQL reports that the client has canceled it. */
export function missingInput(error: pg.DatabaseError): pg.DatabaseError {
  return Object.assign(error, { code: '0A000', message: 'COPY FROM STDIN has no input here' })
}
