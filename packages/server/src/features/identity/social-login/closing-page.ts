import type { FastifyReply } from 'fastify'
import { sendPage } from '../../../http/responses/send-page.ts'
import { createPage } from '../../../lib/page.ts'

/** Sends a page that closes the window of a sign-in. */
export function sendClosingPage(reply: FastifyReply, application?: string): FastifyReply {
  return sendPage(
    reply,
    createPage({
      title: 'Sign in',
      ...(application === undefined ? {} : { application }),
      body: '<div class="narrow">\n<h1>Done</h1>\n<p id="say" role="status">You can close this window.</p>\n</div>',
      script: 'window.close()',
    }),
  )
}
