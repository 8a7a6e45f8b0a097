import { AwsV4Signer } from 'aws4fetch'
import type { Clock } from '../../../../lib/clock.ts'
import type { SmsProviderConfig } from '../config.ts'
import type { Reply } from '../exchange.ts'
import {
  accepted,
  addressOf,
  isSuccess,
  joinDetail,
  notUnderstood,
  postForm,
  rejected,
  rejectedBy,
  type Vendor,
} from '../vendor.ts'

/**
 * Creates the client of Amazon SNS, action Publish of the query API, signed with Signature Version 4. The
 * response is XML with a `MessageId`.
 */
export function sns(config: SmsProviderConfig, clock: Clock): Vendor {
  const {
    aws_region: region,
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
  } = config
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return {
    secrets: [accessKeyId, secretAccessKey],
    async request({ to, body }) {
      const publish = postForm(addressOf(`https://sns.${region}.${domain}`, config.sms_api_base_url, '/'), {
        Action: 'Publish',
        Version: '2010-03-31',
        PhoneNumber: to,
        Message: body,
        // Codes must arrive at once. The default kind, Promotional, is sent as cheaply as possible.
        'MessageAttributes.entry.1.Name': 'AWS.SNS.SMS.SMSType',
        'MessageAttributes.entry.1.Value.DataType': 'String',
        'MessageAttributes.entry.1.Value.StringValue': 'Transactional',
      })
      const signer = new AwsV4Signer({
        ...publish,
        method: 'POST',
        accessKeyId,
        secretAccessKey,
        region,
        service: 'sns',
        datetime: clock
          .now()
          .toISOString()
          .replace(/[:-]|\.\d{3}/g, ''),
      })
      const { url, headers, body: signed } = await signer.sign()
      return { url: url.href, headers: Object.fromEntries(headers), body: String(signed) }
    },
    read(reply) {
      if (isSuccess(reply)) {
        const id = elementOf(reply, 'MessageId')
        return id === '' ? notUnderstood(reply) : accepted(id)
      }
      const code = elementOf(reply, 'Code')
      const detail = joinDetail(code, elementOf(reply, 'Message'))
      // Every AWS service may report throttling as 400.
      if (/^(Throttl|RequestLimitExceeded)/.test(code)) return rejectedBy(reply, false, detail)
      return rejected(reply, detail)
    },
  }
}

function elementOf({ text }: Reply, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? ''
}
