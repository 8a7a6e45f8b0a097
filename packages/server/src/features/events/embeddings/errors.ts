import { defineErrors } from '../../../lib/errors.ts'

export const automaticEmbeddingErrorTable = {
  embeddingNotFound: {
    status: 404,
    message: (name: string) => `embedding "${name}" not found`,
    help: 'The configuration has no entry of this name under `embeddings`.',
  },
  backfillInProgress: {
    status: 409,
    message: 'a backfill is already in progress',
    help: 'A job that queues existing rows of this embedding is queued or running. Wait until it has ended.',
  },
} as const

export const automaticEmbeddingErrors = defineErrors(automaticEmbeddingErrorTable)
