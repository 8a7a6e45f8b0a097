export { DueLoop } from './due-loop.ts'
export { type Claims, QueueWorker } from './queue-worker.ts'
