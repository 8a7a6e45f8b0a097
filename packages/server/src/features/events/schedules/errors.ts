import { defineErrors } from '../../../lib/errors.ts'

export const scheduleErrorTable = {
  invalidScheduleId: {
    status: 400,
    message: 'invalid schedule id format',
    help: 'The id of a schedule is a UUID.',
  },
  missingScheduleField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body is missing or empty.',
  },
  scheduleNameTooLong: {
    status: 400,
    message: 'name must be at most 100 characters',
    help: 'Names of schedules are for people; put more into the payload.',
  },
  invalidScheduleName: {
    status: 400,
    message: 'name: expected Unicode text without NUL',
    help: 'The name holds the character U+0000 or half of a surrogate pair, which PostgreSQL cannot store.',
  },
  invalidCronExpression: {
    status: 400,
    message: 'invalid cron expression',
    help: 'Five fields: minute, hour, day of the month, month, weekday, such as `*/15 9-17 * * mon-fri`.',
  },
  invalidTimezone: {
    status: 400,
    message: 'invalid timezone',
    help: 'A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`.',
  },
  immutableScheduleField: {
    status: 400,
    message: (field: string) => `${field} cannot be changed`,
    help: 'Name, job type and attempts of a schedule are fixed; make another schedule.',
  },
  scheduleNotFound: {
    status: 404,
    message: 'schedule not found',
    help: 'There is no such schedule.',
  },
  scheduleNameTaken: {
    status: 409,
    message: 'schedule name already taken',
    help: 'Another schedule has this name.',
  },
} as const

export const scheduleErrors = defineErrors(scheduleErrorTable)
