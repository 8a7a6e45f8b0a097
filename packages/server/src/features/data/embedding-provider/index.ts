export { createEmbedders, type Embedder, type Embedders } from './embedder.ts'
export { embeddingErrorTable } from './errors.ts'
export { createQueryEmbeddings, limitQueries, type QueryEmbeddings } from './query-embeddings.ts'
