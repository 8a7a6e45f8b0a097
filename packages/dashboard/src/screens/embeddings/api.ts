import { type ApiResponse, get, type Item, post, segment } from '../../api/request.ts'

export type Embedding = Item<'embeddings.list'>
export type EmbeddingDetail = ApiResponse<'embeddings.get'>

const path = (name: string) => `admin/embeddings/${segment(name)}` as const

export const listEmbeddings = (signal: AbortSignal) =>
  get<'embeddings.list'>('admin/embeddings', {}, { signal })

export const readEmbedding = (name: string, signal: AbortSignal) =>
  get<'embeddings.get'>(path(name), {}, { signal })

export const startBackfill = ({ name, all }: { readonly name: string; readonly all: boolean }) =>
  post<'embeddings.backfill'>(`${path(name)}/backfill`, { all })
