/** Content of a mail: a template, or own texts. A missing `html` or `text` is made from the other. */
type MailContent =
  | {
      /** Key of a template of the project. */
      readonly templateKey: string
      readonly variables?: Readonly<Record<string, string>> | undefined
      readonly subject?: never
      readonly html?: never
      readonly text?: never
    }
  | ({ readonly templateKey?: never; readonly variables?: never; readonly subject: string } & (
      | { readonly html: string; readonly text?: string | undefined }
      | { readonly html?: undefined; readonly text: string }
    ))

/** Mail of a function. Each recipient gets one of its own. */
export type Mail = MailContent & {
  /** One address, or at most `email.policy.max_recipients_per_request`. */
  readonly to: string | readonly string[]
  /** Sender: that of `email.from`, or one of `email.policy.allowed_from_addresses`. */
  readonly from?: string | undefined
}

/** Message to the devices of a user, or of a topic. The members are those of `POST /api/push/send`. */
export type PushMessage = {
  readonly title: string
  readonly body: string
  readonly data?: Readonly<Record<string, string>> | undefined
  readonly options?:
    | {
        readonly badge?: number | undefined
        readonly sound?: string | undefined
        readonly ttl_seconds?: number | undefined
        readonly priority?: 'high' | 'normal' | undefined
        readonly collapse_key?: string | undefined
        readonly image?: string | undefined
      }
    | undefined
  /** Default: the app of requests without a key. */
  readonly app_id?: string | undefined
  /** RFC 3339 time. Default: now. */
  readonly send_at?: string | undefined
  readonly idempotency_key?: string | undefined
} & (
  | { readonly user_id: string; readonly topic?: undefined }
  | { readonly topic: string; readonly user_id?: undefined }
)
