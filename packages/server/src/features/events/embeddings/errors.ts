import { defineErrors } from '../../../lib/errors.ts'

export const keptEmbeddingErrorTable = {
  embeddingNotFound: {
    status: 404,
    message: (name: string) => `embedding "${name}" not found`,
    help: 'The configuration has no `embeddings` of this name.',
  },
  backfillInProgress: {
    status: 409,
    message: 'a backfill is already in progress',
    help: 'The job of the embedding that queues existing rows has not ended yet.',
  },
} as const

export const keptEmbeddingErrors = defineErrors(keptEmbeddingErrorTable)
