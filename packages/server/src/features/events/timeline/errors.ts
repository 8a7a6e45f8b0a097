import { defineErrors } from '../../../lib/errors.ts'

export const timelineErrorTable = {
  eventNotFound: {
    status: 404,
    message: 'event not found',
    help: 'Neither the log of changes (`events.retention_hours`) nor the log of deliveries (`webhooks.retention_days`) has an event with this id.',
  },
} as const

export const timelineErrors = defineErrors(timelineErrorTable)
