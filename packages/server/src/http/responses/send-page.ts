import type { FastifyReply } from 'fastify'
import type { Page } from '../../lib/page.ts'

/** Sends one of our pages, with the policy that allows its own style and script and nothing else. */
export function sendPage(reply: FastifyReply, { html, contentSecurityPolicy }: Page): FastifyReply {
  return reply
    .header('content-security-policy', contentSecurityPolicy)
    .type('text/html; charset=utf-8')
    .send(html)
}
