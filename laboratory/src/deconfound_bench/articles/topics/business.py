"""Companies and trade."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

BUSINESS = Topic(
    name="business",
    heroes=lines("""
        {chief executive|chair|finance director|managing director} of {org}
        who {set up|took over} {org} in {lately}
        head of {operations|strategy|retail} at {org}
    """),
    seconds=lines("""
        an analyst at {firm}
        a {shareholder|fund manager} with a stake of {pct}
        regional secretary of the {warehouse|shop|engineering} workers' union
        who runs a rival firm in {town}
    """),
    thirds=lines("""
        an economist at {town} Business School
        president of the {region} chamber of commerce
        a {forklift driver|fitter|buyer} at the {place} plant
        a partner at the consultancy {firm}
    """),
    orgs=("{brand} {Group|Holdings|plc|Industries|Foods|Retail|Inc.}", "{firm}"),
    bodies=("the {competition|markets|pensions} regulator", "{firm}", "the {engineering|shop} workers' union"),
    matters=lines("""
        a takeover of {firm} for {sum} | the takeover
        the closure of a {biscuit factory|paper mill|call centre|foundry} in {place} | the closure
        a set of {half-year|quarterly|annual} results that {beat|missed} forecasts | the announcement
        a {new factory|distribution centre|research site} in {place} | the investment
        a profit warning | the warning
        a {stock market|share} listing valued at {sum} | the listing
        a plan to cut {hundreds} jobs | the plan
        a recall of {thousands} {kettles|car seats|frozen pies|ladders} | the recall
    """),
    events=events("""
        {org} {announced|confirmed} {matter} on {day}
        {matter} was {announced|made public} before markets opened on {day}
        staff learned of {matter} on {day}

        shares in {org} {fell|dropped|tumbled} {move} on {day} after {matter}
        {matter} wiped {move} off the value of {org}
        investors took fright at {matter}

        shares in {org} {rose|jumped|climbed} {move} on {day} after {matter}
        {matter} lifted the stock by {move}
        investors {cheered|welcomed} {matter}

        for: takeover closure investment listing plan
        {org} {abandoned|called off|scaled back} {matter} on {day}, citing {terms}
        {matter} will not go ahead {as planned|for now}
        {hero} {pulled|drew} back from {matter}

        for: takeover investment listing
        {org} {agreed|secured} {sum} of new {loans|funding} on {day} to pay for {matter}
        lenders have put up {sum} for {matter}
        the money for {matter} is in place, {hero} said
    """),
    facts=lines("""
        demand for {terms} had {weakened|recovered} since {month}
        the company blamed {higher wages|the weak pound|late deliveries|a warm winter}
        {body} would be asked to approve the terms
        the board met {twice|three times} in {few} days
        the dividend was {held|cut|raised} to {dec} {pence|cents} a share
        {org} employs {thousands} people, most of them in {region}
        orders from {Asia|the U.S.|northern Europe|Latin America} accounted for {pct} of sales
        margins on {terms} narrowed
        the auditors signed off the accounts in {month}
        a {second|late} bid from {firm} was turned down
        the plant makes {pies|valves|cartons|uniforms|bicycle parts} for {few} of the largest chains
        contracts with suppliers were being renegotiated
        union officials were told by telephone at {time}
        the order book for {terms} was full until {month}
        {hero} bought {thousands} shares on {weekday}
        the lease on the {head office|warehouse} runs until {month}
        trading in the shares was halted for {few} minutes
    """),
    figures=lines("""
        pre-tax profit came to {money}, against {money} a year earlier
        revenue {rose|fell} {pct} to {money}
        net debt stood at {money}
        like-for-like sales were {up|down} {pct}
        the offer valued the firm at {dec} times earnings
        the shares closed {pct} {higher|lower} at {hundreds} {pence|cents}
        operating costs were {pct} higher
        the pension deficit shrank to {money}
    """),
    actors=lines("""
        analysts
        the board
        {minority|large} shareholders
        suppliers in {town}
        managers at the {place} site
        trade unions
        rivals
        the finance team
        lenders
        customers in {region}
        private equity funds
    """),
    acts=lines("""
        {cut|raised} their forecasts for {terms}
        {welcomed|shrugged off} the news
        asked how {terms} would be paid for
        {sought|demanded} guarantees on {jobs|terms}
        {hired|appointed} {firm} to advise on {terms}
        pointed to {higher|lower} prices for {terms}
        voted through the {pay report|accounts}
        {opened|held} talks with {body}
        {delayed|brought forward} spending on {terms}
        {sold|bought} a stake of {pct}
        described trading as {patchy|resilient|brisk|subdued}
        declined to comment on {terms}
        moved some production to {town}
    """),
    views=lines("""
        These are {solid|encouraging|respectable} numbers in a difficult market.
        We have a strong balance sheet and a clear plan for {terms}.
        Our customers are careful with their money, and we have to give them a reason to come in.
        The business is in better shape than the share price suggests.
        We looked at every alternative before we took this step.
        Nobody knows this trade better than the people in this building.
        Growth in {terms} will come back, and we mean to be ready for it.
        We are not in a hurry.
    """),
    doubts=lines("""
        The price looks {full|steep} to us.
        It is a fig leaf for {weak|falling} demand.
        Workers are paying for mistakes made in the boardroom.
        I have seen {three|four} turnaround plans here, and this one has the best slides.
        Where is the growth supposed to come from?
        The market for {terms} is shrinking, and no merger will change that.
        Investors have run out of patience.
    """),
    past=lines("""
        {org} was founded in {founded} as a maker of {biscuits|boilers|stationery|paint|rope|garden tools}.
        The company floated in {year} at {hundreds} {pence|cents} a share.
        It bought {firm} in {year}, a deal that {disappointed|took years to digest}.
        The {place} plant once employed {thousands} people.
        {hero} joined from {firm} in {lately}.
        An attempt to sell the {retail|packaging|wholesale} arm failed in {year}.
    """),
    scenes=lines("""
        At the gates of the {place} site, the {night|early} shift was coming off in silence.
        Shareholders were given {tea and shortbread|a paper bag of samples} on the way out.
        The canteen had closed by the time the letters were handed round.
        A single {camera crew|photographer} waited in the lobby.
    """),
    ahead=lines("""
        The deal is expected to close in {month}, subject to approval by {body}.
        Full-year results are due on {date}.
        Shareholders will vote on {date}.
        Consultation with staff will last {n} days.
        {org} will update the market on {terms} in {month}.
    """),
    terms=listing("""
        exports, packaging costs, energy bills, warehouses, supply chains, interest rates, ready meals, machine
        tools, retail rents, freight rates, loyalty cards, spare parts, online orders, pension liabilities, bonuses,
        raw materials, franchise outlets, price rises, inventories, dividends, currency swings, own-label goods,
        patents, wage settlements, import duties, corporate bonds, credit lines, convenience stores, trade fairs,
        store closures, payment terms, luxury goods, cash reserves
    """),
    units=listing("jobs, stores, orders, shareholders, contracts, suppliers, vacancies, bankruptcies"),
    sites=listing("the stock exchange, the company's headquarters, the plant, the annual meeting, the trade fair"),
)
