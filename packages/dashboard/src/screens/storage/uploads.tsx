import { Button } from '../../ui/button.tsx'
import { formatBytes } from '../../ui/format.ts'
import styles from './uploads.module.css'
import type { Upload, UploadList } from './use-uploads.ts'

export function Uploads({ uploads }: { readonly uploads: UploadList }) {
  if (uploads.items.length === 0) return null
  return (
    <ul className={styles.list} aria-label="Uploads">
      {uploads.items.map((upload) => (
        <li key={upload.id} className={styles.upload}>
          <span className={styles.name}>{upload.name}</span>
          <progress
            aria-label={`Progress of ${upload.name}`}
            value={upload.progress.loaded}
            max={Math.max(1, upload.progress.total)}
          />
          <span role="status">{describe(upload)}</span>
          {upload.state === 'running' && (
            <Button size="small" aria-label={`Pause ${upload.name}`} onClick={() => uploads.pause(upload.id)}>
              Pause
            </Button>
          )}
          {(upload.state === 'paused' || upload.state === 'failed') && (
            <Button
              size="small"
              aria-label={`Resume ${upload.name}`}
              onClick={() => uploads.resume(upload.id)}
            >
              Resume
            </Button>
          )}
          <Button
            size="small"
            variant="plain"
            aria-label={upload.state === 'done' ? `Hide ${upload.name}` : `Cancel ${upload.name}`}
            onClick={() => uploads.discard(upload.id)}
          >
            {upload.state === 'done' ? 'Hide' : 'Cancel'}
          </Button>
        </li>
      ))}
    </ul>
  )
}

function describe({ state, progress, error }: Upload): string {
  if (state === 'done') return `Uploaded, ${formatBytes(progress.total)}`
  if (state === 'failed') return `Failed: ${error?.message ?? 'unknown'}`
  const share = `${formatBytes(progress.loaded)} of ${formatBytes(progress.total)}`
  return state === 'paused' ? `Paused at ${share}` : share
}
