// A provider of promptfoo that answers what the test says, or fails.
export default class PlannedProvider {
  constructor(options) {
    this.providerId = options.id;
  }

  id() {
    return this.providerId;
  }

  async callApi(prompt, context) {
    const answer = context.vars.answer;
    return answer === "REFUSED" ? { error: "refused" } : { output: answer };
  }
}
