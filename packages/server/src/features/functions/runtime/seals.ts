import { createHash } from 'node:crypto'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'

/**
 * Seals of the server. Text that reaches `execute` can become the gateway, and call its functions in the database. Those that
 * end in `_sealed` refuse arguments without a seal (docs/decisions/0073-functions.md).
 */
export class Seals {
  readonly #database: Pick<SystemDatabase, 'one'>
  #key: Promise<Buffer> | undefined

  constructor(database: Pick<SystemDatabase, 'one'>) {
    this.#database = database
  }

  /** Returns the seal of a text as hexadecimal digits. */
  async of(text: string): Promise<string> {
    this.#key ??= this.#readKey()
    const inner = createHash('sha256').update(text).digest()
    return createHash('sha256')
      .update(await this.#key)
      .update(inner)
      .digest('hex')
  }

  async #readKey(): Promise<Buffer> {
    try {
      return (await this.#database.one<{ key: Buffer }>(sql`select key from basalt.job_seal`)).key
    } catch (error) {
      this.#key = undefined
      throw error
    }
  }
}
