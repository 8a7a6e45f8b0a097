import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Captcha } from './captcha.ts'
import { describeCaptcha } from './operations.ts'

export { Captcha, captchaHeaders, captchaOf } from './captcha.ts'
export type { CaptchaRoute } from './config.ts'
export { captchaErrorTable } from './errors.ts'
export { providers } from './providers.ts'

/** Makes the feature of captchas. */
export function captchas(captcha: Captcha): Feature {
  return {
    name: 'captcha',
    routes: (app) => {
      void app.register(async (scope) => {
        scope.addHook('onSend', async (_request, reply) => {
          void reply.header('cache-control', 'no-store')
        })
        addOperations(scope, { captcha }, [describeCaptcha])
      })
    },
  }
}
