import fastifyStatic from '@fastify/static'
import createFastify from 'fastify'

/**
 * Serves a directory with @fastify/static, for comparison with sites. Prints its address.
 *
 * argv: directory
 */
const [, , root = ''] = process.argv
const app = createFastify()
app.register(fastifyStatic, { root })
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
