import type { UploadProgress } from '@basaltdb/client/files'
import { useCallback, useEffect, useRef, useState } from 'react'
import { inSession, queryClient } from '../../api/queries.ts'
import { bucketOf } from './api.ts'

export type UploadState = 'running' | 'paused' | 'failed' | 'done'

export interface Upload {
  readonly id: number
  readonly name: string
  readonly file: File
  readonly state: UploadState
  readonly progress: UploadProgress
  readonly error?: Error
}

export interface UploadList {
  readonly items: readonly Upload[]
  readonly add: (name: string, file: File) => void
  readonly pause: (id: number) => void
  /** Resumes a paused or failed upload. */
  readonly resume: (id: number) => void
  /** Cancels an upload and removes it from the list. */
  readonly discard: (id: number) => void
}

/** Ids of unfinished uploads of this page. After a reload they restart. */
const unfinished = new Map<string, string>()
const store = {
  getItem: (key: string) => unfinished.get(key) ?? null,
  setItem: (key: string, value: string) => void unfinished.set(key, value),
  removeItem: (key: string) => void unfinished.delete(key),
}

let lastId = 0

/** Uploads to a bucket in parts. Uploads end with the view. */
export function useUploads(bucket: string): UploadList {
  const [items, setItems] = useState<readonly Upload[]>([])
  const running = useRef(new Map<number, AbortController>())

  const change = useCallback((id: number, changes: Partial<Upload>) => {
    setItems((before) => before.map((upload) => (upload.id === id ? { ...upload, ...changes } : upload)))
  }, [])

  const run = useCallback(
    async ({ id, name, file }: Pick<Upload, 'id' | 'name' | 'file'>) => {
      const controller = new AbortController()
      const { signal } = controller
      running.current.set(id, controller)
      change(id, { state: 'running' })
      const onProgress = (progress: UploadProgress) => change(id, { progress })
      try {
        const send = () => bucketOf(bucket).uploadResumable(name, file, { signal, onProgress, store })
        await inSession(send, signal)
        change(id, { state: 'done' })
        await queryClient.invalidateQueries({ queryKey: ['storage', 'objects', bucket] })
      } catch (error) {
        if (!signal.aborted && error instanceof Error) change(id, { state: 'failed', error })
      }
    },
    [bucket, change],
  )

  useEffect(() => {
    const controllers = running.current
    return () => {
      for (const controller of controllers.values()) controller.abort()
    }
  }, [])

  return {
    items,
    add(name, file) {
      lastId += 1
      const upload = { id: lastId, name, file }
      setItems((before) => [
        ...before,
        { ...upload, state: 'running', progress: { loaded: 0, total: file.size } },
      ])
      void run(upload)
    },
    pause(id) {
      change(id, { state: 'paused' })
      running.current.get(id)?.abort()
    },
    resume(id) {
      const upload = items.find((item) => item.id === id)
      if (upload !== undefined) void run(upload)
    },
    discard(id) {
      running.current.get(id)?.abort()
      setItems((before) => before.filter((upload) => upload.id !== id))
    },
  }
}
