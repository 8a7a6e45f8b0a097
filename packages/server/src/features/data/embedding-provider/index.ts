export { createEmbedders, type Embedder, type Embedders } from './embedder.ts'
export { embeddingErrorTable } from './errors.ts'
export { createQueryEmbeddings, limitQueries } from './query-embeddings.ts'
