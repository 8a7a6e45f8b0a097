import type pg from 'pg'

/** Of `copy … from stdin` where no rows can be sent: PostgreSQL says that the client has canceled it. */
export function missingInput(error: pg.DatabaseError): pg.DatabaseError {
  return Object.assign(error, { code: '0A000', message: 'COPY FROM STDIN has no input here' })
}
