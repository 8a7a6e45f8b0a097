'use client'
import { files, type ResumableOptions, type UploadProgress } from '@basaltdb/client/files'
import {
  type UseMutationOptions,
  type UseMutationResult,
  useMutation as useQueryMutation,
} from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useClient } from './use-client.ts'

/** Input of an upload. */
export interface UploadInput extends Omit<ResumableOptions, 'signal' | 'onProgress'> {
  /** Name of the object, including its folders. */
  readonly name: string
  readonly content: Blob | BufferSource
}

/** State of an upload. */
export type Upload = UseMutationResult<void, Error, UploadInput> & {
  /** Progress of the latest upload; undefined until the server has created it. */
  readonly progress: UploadProgress | undefined
  /** Cancels the upload. With a `store` it can be resumed. */
  readonly cancel: () => void
}

/**
 * Returns a mutation that uploads to a bucket in parts, and resumes after a broken connection. A new upload cancels the
 * previous one.
 */
export function useUpload(
  bucket: string,
  options: Omit<UseMutationOptions<void, Error, UploadInput>, 'mutationFn'> = {},
): Upload {
  const client = useClient()
  const running = useRef<AbortController | undefined>(undefined)
  const [progress, setProgress] = useState<UploadProgress>()
  const mutation = useQueryMutation<void, Error, UploadInput>({
    ...options,
    async mutationFn({ name, content, ...resumable }) {
      running.current?.abort()
      const controller = new AbortController()
      running.current = controller
      setProgress(undefined)
      await files(client)
        .bucket(bucket)
        .uploadResumable(name, content, {
          ...resumable,
          signal: controller.signal,
          onProgress: (reached) => {
            if (running.current === controller) setProgress(reached)
          },
        })
    },
  })
  return { ...mutation, progress, cancel: () => running.current?.abort() }
}
