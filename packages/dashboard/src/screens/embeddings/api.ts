import { get, post, segment } from '../../api/request.ts'

/** Of `GET /api/admin/embeddings`. */
export interface Embedding {
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  readonly vectorColumn: string
  readonly model: string | null
  readonly provider: {
    readonly name: string
    readonly breaker: 'closed' | 'open' | 'half-open'
    readonly retryInSeconds: number
  } | null
  readonly problem: string | null
  readonly isOutdated: boolean
  readonly pending: number
  readonly failed: number
  readonly written: number
  readonly lastWrittenAt: string | null
  readonly lastError: string | null
  readonly backfill: {
    readonly jobId: string
    readonly state: string
    readonly rows: number | null
    readonly startedAt: string | null
    readonly finishedAt: string | null
  } | null
}

/** Of `GET /api/admin/embeddings/{name}`. */
export interface EmbeddingDetail extends Embedding {
  readonly failures: readonly { readonly recordKey: readonly unknown[]; readonly error: string }[]
}

const path = (name: string) => `admin/embeddings/${segment(name)}`

export const listEmbeddings = (signal: AbortSignal) =>
  get<{ items: Embedding[] }>('admin/embeddings', {}, { signal })

export const readEmbedding = (name: string, signal: AbortSignal) =>
  get<EmbeddingDetail>(path(name), {}, { signal })

export const startBackfill = ({ name, all }: { readonly name: string; readonly all: boolean }) =>
  post<Embedding>(`${path(name)}/backfill`, { all })
