import type { SystemDatabase } from '../../../../database/system-database.ts'
import { Lru } from '../../../../lib/lru.ts'
import { findDocument } from './document.ts'

/** Milliseconds after which a listed document is read again. */
const freshMs = 1000
const documentLimit = 1000

interface KnownDocument {
  readonly text: string
  readonly readAt: number
}

/** Listed documents by hash. What is added or removed is in force on every node within a second. */
export class ListedDocuments {
  readonly #database: SystemDatabase
  readonly #known = new Lru<string, KnownDocument>(documentLimit)

  constructor(database: SystemDatabase) {
    this.#database = database
  }

  async find(hash: string): Promise<string | undefined> {
    const known = this.#known.get(hash)
    if (known !== undefined && performance.now() - known.readAt < freshMs) return known.text
    const readAt = performance.now()
    const text = await findDocument(this.#database, hash)
    if (text !== undefined) this.#known.set(hash, { text, readAt })
    return text
  }
}
