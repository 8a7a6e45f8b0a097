import type { FastifyReply } from 'fastify'
import type { Page } from '../../lib/page.ts'

/** Sends one of our pages, with the policy that allows only its own style and script. */
export function sendPage(reply: FastifyReply, { html, contentSecurityPolicy }: Page): FastifyReply {
  return reply
    .header('content-security-policy', contentSecurityPolicy)
    .type('text/html; charset=utf-8')
    .send(html)
}
