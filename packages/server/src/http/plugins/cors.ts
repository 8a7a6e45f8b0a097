import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** Tokens travel in headers, never in cookies, so no origin needs credentials. */
export async function addCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  await app.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ['Content-Type', 'Authorization', 'X-Request-Id', 'Last-Event-ID'],
    exposedHeaders: ['X-Request-Id', 'Retry-After'],
    maxAge: 86_400,
    credentials: false,
  })
}
