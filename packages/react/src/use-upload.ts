'use client'
import { files, type ResumableOptions, type UploadProgress } from '@basaltdb/client/files'
import {
  type UseMutationOptions,
  type UseMutationResult,
  useMutation as useQueryMutation,
} from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useClient } from './use-client.ts'

export interface UploadInput extends Omit<ResumableOptions, 'signal' | 'onProgress'> {
  /** Of the object, with its folders. */
  readonly name: string
  readonly content: Blob | BufferSource
}

export type Upload = UseMutationResult<void, Error, UploadInput> & {
  /** Of the upload that was begun last; undefined before the server knows of it. */
  readonly progress: UploadProgress | undefined
  /** Ends it; with a `store` it can be resumed. */
  readonly cancel: () => void
}

/** Uploads to a bucket in parts, and resumes where the connection was cut off. Another upload ends the one before. */
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
