export { type Claims, QueueWorker } from './queue-worker.ts'
